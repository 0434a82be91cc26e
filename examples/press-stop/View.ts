/**
 * Shows a board: on a terminal as rows that change where they stand, elsewhere as lines, one behind the other.
 */
import { Clock, Effect, Schedule, type Scope } from "effect"
import type { WriteStream } from "node:tty"
import { styleText } from "node:util"
import * as Board from "./Board.ts"

export interface View {
  /** A line that stays. */
  readonly say: (line: string) => void
  /** A line for whoever has no rows to look at. */
  readonly note: (line: string) => void
  readonly show: (board: Board.Board) => void
  /** Gives the terminal back as it was. */
  readonly close: () => void
}

/** The view that fits `out`; closing the scope leaves the rows as they are, and the terminal as it was. */
export const make = (out: WriteStream): Effect.Effect<View, never, Scope.Scope> => out.isTTY ? live(out) : plain(out)

const plain = (out: WriteStream): Effect.Effect<View> =>
  Effect.map(Clock.Clock, (clock) => {
    const start = clock.currentTimeMillisUnsafe()
    const say = (line: string) => void out.write(`${line}\n`)
    return {
      say,
      note: (line) => say(`${seconds(clock.currentTimeMillisUnsafe() - start)}  ${clean(line)}`),
      show: () => {},
      close: () => {}
    }
  })

const hideCursor = "\x1b[?25l"
const showCursor = "\x1b[?25h"
/** To the beginning of the line `n` lines above, and nothing from there on. */
const clearAbove = (n: number): string => `\r${n > 0 ? `\x1b[${n}A` : ""}\x1b[J`

const live = Effect.fnUntraced(function*(out: WriteStream): Effect.fn.Return<View, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  let board: Board.Board = Board.empty
  let painted = 0
  const paint = (above = "") => {
    const rows = board.map((row) => line(row, clock.currentTimeMillisUnsafe(), out))
    out.write(clearAbove(painted) + above + rows.map((row) => `${row}\n`).join(""))
    painted = rows.length
  }
  const close = () => void out.write(showCursor)
  yield* Effect.acquireRelease(Effect.sync(() => out.write(hideCursor)), () => Effect.sync(close))
  // Ten times a second is as often as somebody reads a clock.
  yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => paint()), Schedule.spaced("100 millis")))
  return {
    say: (line) => paint(`${line}\n`),
    note: () => {},
    show: (news) => {
      board = news
      paint()
    },
    close
  }
})

const words = {
  waiting: "waiting",
  pre: "policy",
  approval: "asks you",
  wrappers: "wrappers",
  body: "running",
  post: "policy",
  settling: "settling"
} satisfies { readonly [S in Board.Row["stage"]]: string }

const line = (row: Board.Row, nowMillis: number, out: WriteStream): string => {
  const { cancelling, message, name, settled, settledMillis, startedMillis } = row
  const stage = settled
    ? Board.codeOf(settled)
    : cancelling
    ? `${words[row.stage]}, told to stop`
    : words[row.stage]
  const elapsed = startedMillis === undefined ? "" : seconds((settledMillis ?? nowMillis) - startedMillis)
  const head = `  ${name.padEnd(13)}`
  const middle = stage.padEnd(25)
  const tail = `${elapsed.padStart(7)}  ${settled ? "" : clean(message)}`
  // A line that the terminal breaks would be two, and the next picture would begin in the middle of this one.
  const room = Math.max(0, (out.columns || 80) - 1 - head.length - middle.length)
  return head + styleText(settled ? "bold" : cancelling ? "yellow" : "cyan", middle, { stream: out }) +
    tail.slice(0, room)
}

const seconds = (millis: number): string => `${(millis / 1000).toFixed(1).padStart(5)} s`

/** Text of others, without what a terminal would obey: it is shown, and not carried out. */
const clean = (text: string): string => text.replaceAll(/\p{C}/gu, "�")
