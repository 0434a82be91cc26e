/**
 * Line plots on two logarithmic axes, as SVG.
 *
 * Costs that differ a thousandfold share one picture only on a logarithmic axis, where constant cost is a level line
 * and cost that grows with the number of calls is a rising one. Curves are named at their right end.
 */
import type { Kind } from "./Report.ts"

export interface Curve {
  readonly name: string
  readonly kind: Kind
  readonly points: ReadonlyArray<{ readonly x: number; readonly y: number }>
}

export interface Plot {
  readonly title: string
  readonly xTitle: string
  readonly yTitle: string
  readonly curves: ReadonlyArray<Curve>
}

const width = 860
const height = 480
const frame = { left: 84, right: 250, top: 48, bottom: 56 }
const inner = { width: width - frame.left - frame.right, height: height - frame.top - frame.bottom }
/** Names of curves are at least this far apart. */
const lineHeight = 16

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const round = (value: number): number => Math.round(value * 10) / 10

interface Axis {
  readonly ticks: ReadonlyArray<number>
  /** From 0, at the first tick, to 1, at the last. */
  readonly position: (value: number) => number
}

/** A logarithmic axis over whole decades. */
const decades = (values: ReadonlyArray<number>): Axis => {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
    position: (value) => (Math.log10(value) - low) / (high - low)
  }
}

const count = (value: number): string => value.toLocaleString("en")

const time = (nanos: number): string =>
  nanos < 1e3
    ? `${nanos} ns`
    : nanos < 1e6
    ? `${nanos / 1e3} µs`
    : nanos < 1e9
    ? `${nanos / 1e6} ms`
    : `${nanos / 1e9} s`

/** Moves labels apart, keeping their order. */
const spreadOut = <A extends { readonly y: number }>(labels: ReadonlyArray<A>): ReadonlyArray<A> => {
  let last = -Infinity
  const down = labels.toSorted((a, b) => a.y - b.y).map((label) => ({
    ...label,
    y: last = Math.max(label.y, last + lineHeight)
  }))
  // Whatever was pushed out at the bottom is pushed back up.
  let next = height - frame.bottom + lineHeight
  return down.toReversed().map((label) => ({ ...label, y: next = Math.min(label.y, next - lineHeight) }))
}

const style = `
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 15px }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  path { fill: none; stroke-width: 1.75 }
  .ours { stroke: #0969da; stroke-width: 3 } text.ours { fill: #0969da; stroke: none; font-weight: 600 }
  .floor { stroke: #57606a; stroke-dasharray: 5 4 } text.floor { fill: #57606a; stroke: none }
  .peer { stroke: #bc4c00 } text.peer { fill: #bc4c00; stroke: none }
  .lead { stroke-width: 0.75; stroke-dasharray: none; opacity: 0.6 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .grid { stroke: #30363d }
    .ours { stroke: #58a6ff } text.ours { fill: #58a6ff }
    .floor { stroke: #8b949e } text.floor { fill: #8b949e }
    .peer { stroke: #f0883e } text.peer { fill: #f0883e }
  }`

export const svg = ({ curves, title, xTitle, yTitle }: Plot): string => {
  const xs = decades(curves.flatMap(({ points }) => points.map(({ x }) => x)))
  const ys = decades(curves.flatMap(({ points }) => points.map(({ y }) => y)))
  const px = (value: number) => round(frame.left + xs.position(value) * inner.width)
  const py = (value: number) => round(frame.top + (1 - ys.position(value)) * inner.height)
  const right = frame.left + inner.width
  const bottom = frame.top + inner.height

  const grid = [
    ...xs.ticks.map((tick) =>
      `<path class="grid" d="M${px(tick)} ${frame.top}V${bottom}"/>` +
      `<text x="${px(tick)}" y="${bottom + 20}" text-anchor="middle">${count(tick)}</text>`
    ),
    ...ys.ticks.map((tick) =>
      `<path class="grid" d="M${frame.left} ${py(tick)}H${right}"/>` +
      `<text x="${frame.left - 8}" y="${py(tick) + 4}" text-anchor="end">${time(tick)}</text>`
    )
  ]
  const lines = curves.map(({ kind, points }) =>
    `<path class="${kind}" d="${
      points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${px(x)} ${py(y)}`).join("")
    }"/>`
  )
  const labels = spreadOut(curves.map(({ kind, name, points }) => {
    const end = points.at(-1)!
    return { kind, name, x: px(end.x), end: py(end.y), y: py(end.y) }
  })).map(({ end, kind, name, x, y }) =>
    `<path class="${kind} lead" d="M${x + 2} ${end}L${right + 8} ${y}"/>` +
    `<text class="${kind}" x="${right + 12}" y="${y + 4}">${escape(name)}</text>`
  )

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${
    escape(title)
  }">
<style>${style}
</style>
<text class="title" x="${frame.left}" y="24">${escape(title)}</text>
${[...grid, ...lines, ...labels].join("\n")}
<text x="${frame.left + inner.width / 2}" y="${height - 12}" text-anchor="middle">${escape(xTitle)}</text>
<text transform="translate(20 ${frame.top + inner.height / 2}) rotate(-90)" text-anchor="middle">${
    escape(yTitle)
  }</text>
</svg>
`
}
