/**
 * A file without a name that nobody has open but the processes of one command.
 *
 * Its identity is known before the command starts. What the command's pipes are called can only be read from the running
 * program, and one that ends within a millisecond may be gone by then.
 */
import * as Crypto from "node:crypto"
import * as FileSystem from "node:fs"
import * as OperatingSystem from "node:os"
import * as Path from "node:path"

export interface Heirloom {
  readonly descriptor: number
  /** As the process table shows it for whoever has it open; it holds a random number, so no other file is called so. */
  readonly name: string
}

/** In memory where the system has such a place: the file lives as long as the command, and is always empty. */
const places = ["/dev/shm", OperatingSystem.tmpdir()]

/** Where no file can be made there is none, and a command's processes are known by everything else. */
export const make = (): Heirloom | undefined => {
  const { O_CREAT, O_EXCL, O_RDONLY } = FileSystem.constants
  for (const place of places) {
    const path = Path.join(place, `quiesce-${Crypto.randomUUID()}`)
    try {
      // Read-only, so that nobody can keep anything in it.
      const descriptor = FileSystem.openSync(path, O_RDONLY | O_CREAT | O_EXCL, 0o600)
      FileSystem.unlinkSync(path)
      return { descriptor, name: FileSystem.readlinkSync(`/proc/self/fd/${descriptor}`) }
    } catch {
      // Not there, not writable, or no file free: the next place.
    }
  }
  return undefined
}

/** Gives it up here; who inherited it keeps it. */
export const release = ({ descriptor }: Heirloom): void => FileSystem.closeSync(descriptor)
