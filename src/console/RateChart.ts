import { type ComponentChild, h, type VNode } from "preact"
import { iso } from "../domain/Instant.ts"
import { percent, type RateLine, type RateStep } from "./SuccessRates.ts"

// Drawn on the server, with shapes only: the console's policy allows no inline style or script. The style sheet has the colours.

/** In units of the drawing, which the page scales. */
const WIDTH = 400
const LEFT = 44
const RIGHT = 396
/** The heights of 100 % and 0 %. */
const [TOP, BOTTOM] = [12, 112]
/** The bars below the curve: how many ended. */
const [COUNTS_TOP, COUNTS_BOTTOM] = [126, 166]
const HEIGHT = 188
const SHARES = [0, 50, 100] as const

/** The success rate of a line over time, and below it how many transactions ended. Its figures are in the table beside it. */
export const rateChart = (line: RateLine): VNode => {
  const { corridor, kind, provider, steps } = line
  const width = (RIGHT - LEFT) / steps.length
  const middle = (place: number): number => LEFT + (place + 0.5) * width
  const most = Math.max(1, ...steps.map(({ ended }) => ended))
  const first = steps[0]
  const last = steps.at(-1)
  return h(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-labelledby": "chart-title chart-text" },
    h("title", { id: "chart-title" }, `Success rate of ${kind}s in ${corridor} at ${provider}`),
    h("desc", { id: "chart-text" }, `${percent(line)} of ${line.ended} were successful. The table below has each step.`),
    SHARES.map((share) => [
      h("line", { class: "grid", x1: LEFT, x2: RIGHT, y1: heightOf(share / 100), y2: heightOf(share / 100) }),
      h("text", { x: LEFT - 4, y: heightOf(share / 100) + 4, "text-anchor": "end" }, `${share} %`)
    ]),
    rateOf(steps, middle),
    h("text", { x: LEFT - 4, y: COUNTS_TOP + 8, "text-anchor": "end" }, String(most)),
    steps.map(({ ended, successful }, place) => barsOf(ended, ended - successful, { most, x: LEFT + place * width, width })),
    h("line", { class: "grid", x1: LEFT, x2: RIGHT, y1: COUNTS_BOTTOM, y2: COUNTS_BOTTOM }),
    first === undefined ? null : h("text", { x: LEFT, y: HEIGHT - 6 }, momentOf(first)),
    last === undefined ? null : h("text", { x: RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, momentOf(last))
  )
}

const [SPARK_WIDTH, SPARK_HEIGHT] = [120, 28]

/** The same in a table cell. The other cells give the figures, so it is hidden from screen readers. */
export const sparkline = ({ steps }: RateLine): VNode => {
  const x = (place: number): number => ((place + 0.5) * SPARK_WIDTH) / steps.length
  return h(
    "svg",
    { viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, class: "spark", "aria-hidden": "true" },
    curves(steps, x, (share) => SPARK_HEIGHT - 4 - share * (SPARK_HEIGHT - 8))
  )
}

const heightOf = (share: number): number => BOTTOM - share * (BOTTOM - TOP)

const rateOf = (steps: ReadonlyArray<RateStep>, x: (place: number) => number): ComponentChild => curves(steps, x, heightOf)

/** A curve through the steps in which something ended, interrupted where nothing did; a single step between gaps is a dot. */
const curves = (steps: ReadonlyArray<RateStep>, x: (place: number) => number, y: (share: number) => number): ComponentChild => {
  const points = steps.map(({ ended, successful }, place) =>
    ended === 0 ? null : `${tenth(x(place))},${tenth(y(successful / ended))}`
  )
  const runs: Array<Array<string>> = [[]]
  for (const point of points)
    if (point === null) runs.push([])
    else runs.at(-1)?.push(point)
  return runs.map((run) => {
    const [only = "", ...more] = run
    if (run.length === 0) return null
    if (more.length > 0) return h("polyline", { class: "rate", points: run.join(" ") })
    const [cx = "", cy = ""] = only.split(",")
    return h("circle", { class: "dot", cx, cy, r: 2.5 })
  })
}

interface Place {
  readonly most: number
  readonly x: number
  readonly width: number
}

/** All transactions that ended, and in front of them those that were not successful. */
const barsOf = (ended: number, failed: number, { most, width, x }: Place): ComponentChild =>
  [
    ["ended", ended],
    ["failed", failed]
  ].map(([name, count]) => {
    const height = (Number(count) / most) * (COUNTS_BOTTOM - COUNTS_TOP)
    return height === 0
      ? null
      : h("rect", {
          class: name,
          x: tenth(x + 1),
          y: tenth(COUNTS_BOTTOM - height),
          width: tenth(width - 2),
          height: tenth(height)
        })
  })

const tenth = (value: number): string => String(Math.round(value * 10) / 10)

const momentOf = ({ at }: RateStep): string => iso(at).slice(5, 16).replace("T", " ")
