/**
 * Reads why a file could not be used.
 */
import { FileFailed } from "../FileFailed.ts"

/** Makes the error from what Node gave; one that is made already stays as it is. */
export const at = (path: string) => (error: NodeJS.ErrnoException | FileFailed): FileFailed => {
  if (error instanceof FileFailed) return error
  const code = error.code ?? error.name
  return new FileFailed({ path, reason: reasons[code] ?? "Other", code })
}

const reasons: { readonly [code: string]: FileFailed["reason"] } = {
  ENOENT: "NotFound",
  EACCES: "NotPermitted",
  EPERM: "NotPermitted",
  EROFS: "NotPermitted",
  EISDIR: "NotAFile",
  ENXIO: "NotAFile",
  ENOTDIR: "NotADirectory",
  EFBIG: "TooLarge",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  ENAMETOOLONG: "Invalid",
  ERR_INVALID_ARG_VALUE: "Invalid",
  ERR_INVALID_ARG_TYPE: "Invalid",
  ERR_OUT_OF_RANGE: "Invalid"
}
