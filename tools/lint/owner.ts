/**
 * Which package of this repository a file belongs to.
 */
export interface Owner {
  /** The directory name under `packages/`. */
  readonly name: string
  /** The path of the file below that directory, with `/`. */
  readonly path: string
}

export const ownerOf = (filename: string): Owner | undefined => {
  const [, name, path] = /(?:^|\/)packages\/([^/]+)\/(.+)$/.exec(filename.replaceAll("\\", "/")) ?? []
  return name === undefined || path === undefined ? undefined : { name, path }
}
