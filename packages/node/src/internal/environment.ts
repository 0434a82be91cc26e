/**
 * The environment a child gets: a short list that every program needs, what the command names, and the mark by which
 * its descendants are found again.
 */
import { type Command, inherited } from "../Command.ts"

/**
 * Carries the marks of the command and of those that enclose it, so that a command that is itself such a host hides
 * its descendants neither from us nor from itself.
 */
const markName = "QUIESCE_LINEAGE"

/** Without these most Windows programs do not start. */
const windows = [
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "WINDIR",
  "COMSPEC",
  "PATHEXT",
  "TEMP",
  "TMP",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "USERNAME"
]

/** The variables of `host` that a child inherits, and the named ones. */
export const inheritedFrom = (
  host: { readonly [name: string]: string | undefined },
  names: ReadonlyArray<string>
): { readonly [name: string]: string } => {
  const allowed = new Set([...inherited, ...names, ...(process.platform === "win32" ? windows : [])])
  const child: { [name: string]: string } = Object.create(null)
  for (const [name, value] of Object.entries(host)) {
    // Windows does not tell the case of names.
    const known = process.platform === "win32" ? name.toUpperCase() : name
    if (value !== undefined && (allowed.has(known) || known.startsWith("LC_"))) child[name] = value
  }
  return child
}

/** The whole environment of a command's child. */
export const environmentFor = (
  command: Command,
  mark: string,
  host: { readonly [name: string]: string | undefined }
): { readonly [name: string]: string } => {
  const child: { [name: string]: string } = { ...inheritedFrom(host, command.inherit) }
  for (const [name, value] of Object.entries(command.env)) {
    if (value === undefined) delete child[name]
    else child[name] = value
  }
  child[markName] = host[markName] === undefined ? mark : `${host[markName]}:${mark}`
  return child
}
