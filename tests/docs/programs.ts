/**
 * The programs in our pages: every fenced block of TypeScript is part of one.
 *
 * | the fence says    | the block                                                                         |
 * | ----------------- | --------------------------------------------------------------------------------- |
 * | `ts`              | is a program of its own                                                           |
 * | `ts more`         | goes on with the program before it                                                |
 * | `ts run`          | is, or makes, a program that is also run, to its end                              |
 * | `ts test`         | is, or makes, a program of tests, which are run with ours                         |
 * | `text output`     | is exactly what the program before it prints                                      |
 *
 * A program is kept on the lines it has in its page, so that what a compiler or a stack trace says of it points there.
 */
export interface Program {
  /** Relative to the root of the repository. */
  readonly page: string
  /** The line of its first fence, from 1. */
  readonly line: number
  readonly source: string
  readonly kind: "check" | "run" | "test"
  readonly output: string | undefined
}

interface Draft {
  readonly line: number
  readonly lines: Array<string>
  kind: Program["kind"]
  output: string | undefined
}

const fence = /^(?<indent>\s*)```(?<info>.*)$/

/** Throws where a page is not written as it must be, with the line. */
export const programsOf = (page: string, markdown: string): ReadonlyArray<Program> => {
  const drafts: Array<Draft> = []
  const lines = markdown.split("\n")
  for (let index = 0; index < lines.length; index++) {
    const opened = fence.exec(lines[index]!)?.groups
    if (opened === undefined) continue
    const line = index + 1
    const refuse = (reason: string): never => {
      throw new Error(`${page}:${line}: ${reason}`)
    }
    const close = lines.indexOf(`${opened["indent"]}\`\`\``, index + 1)
    if (close < 0) refuse("this block is not closed")
    const block = lines.slice(index + 1, close)
    const [language, ...words] = opened["info"]!.trim().split(/\s+/)
    const last = drafts.at(-1)
    if (language === "ts" || language === "typescript" || language === "tsx" || language === "js") {
      if (language !== "ts") refuse("our programs are written in `ts`")
      if (opened["indent"] !== "") refuse("a program stands at the left margin, so that its columns are right")
      const unknown = words.find((word) => word !== "run" && word !== "test" && word !== "more")
      if (unknown !== undefined) refuse(`a \`ts\` block can be \`run\`, \`test\` and \`more\`, not \`${unknown}\``)
      const more = words.includes("more")
      if (more && last === undefined) refuse("there is no program before this block")
      const draft: Draft = more ? last! : { line, lines: lines.map(() => ""), kind: "check", output: undefined }
      if (!more) drafts.push(draft)
      block.forEach((text, offset) => draft.lines[index + 1 + offset] = text)
      if (words.includes("run")) draft.kind = "run"
      if (words.includes("test")) draft.kind = "test"
    } else if (words.includes("output")) {
      if (last?.kind !== "run" || last.output !== undefined) refuse("there is no program before this block that is run")
      last!.output = `${block.join("\n")}\n`
    }
    index = close
  }
  return drafts.map(({ kind, line, lines, output }) => ({ page, line, source: lines.join("\n"), kind, output }))
}
