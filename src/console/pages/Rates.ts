import { Effect } from "effect"
import { type ComponentChild, h } from "preact"
import { Mode } from "../../domain/Ids.ts"
import { PeriodCounts } from "../../services/ports/PeriodCounts.ts"
import { badge, code, facts, minute, section, type Tone, table } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { rateChart, sparkline } from "../RateChart.ts"
import { page, type Visit } from "../Route.ts"
import { beginOf, type LookBack, lookBacks, percent, type RateLine, rateLines } from "../SuccessRates.ts"

/** The most lines of the list. If there are more, those with the fewest transactions are left out, and the page says so. */
const SHOWN = 40
const REFRESH_SECONDS = 60

/** The share of ended transactions that were successful, by kind, corridor and provider, as charts with their figures. */
export const makeRates = Effect.gen(function* () {
  const periods = yield* PeriodCounts

  const show = Effect.fn("RatesPage.show")(function* (visit: Visit) {
    const chosen = choiceOf(visit.query)
    const { lookBack, mode } = chosen
    const counts = yield* periods.ended(mode, beginOf(lookBack, visit.at), lookBacks[lookBack].stepMs)
    const lines = rateLines(counts, lookBack, visit.at)
    const named = (part: string) => visit.query.get(part)
    const one = lines.find(
      ({ corridor, kind, provider }) => kind === named("kind") && corridor === named("corridor") && provider === named("provider")
    )
    return one === undefined ? listPage(chosen, lines) : linePage(chosen, one)
  })

  return {
    place: { to: "/rates", name: "Success rates" },
    routes: [{ method: "GET", path: "/rates", permission: "look", answer: show }]
  } satisfies Room
})

interface Choice {
  readonly lookBack: LookBack
  readonly mode: Mode
}

const choiceOf = (query: URLSearchParams): Choice => ({
  lookBack: backs.find((one) => one === query.get("last")) ?? "hour",
  mode: Mode.literals.find((one) => one === query.get("mode")) ?? "live"
})

const backs = ["hour", "day", "week"] as const satisfies ReadonlyArray<LookBack>

const addressOf = ({ lookBack, mode }: Choice, line?: RateLine): string => {
  const query = new URLSearchParams({ last: lookBack, mode })
  if (line !== undefined) for (const part of ["kind", "corridor", "provider"] as const) query.set(part, line[part])
  return `/rates?${query}`
}

/** Links to the same page for another period or another mode. */
const choices = (chosen: Choice, line?: RateLine): ComponentChild => {
  const way = (name: string, other: Choice) => {
    const isCurrent = other.lookBack === chosen.lookBack && other.mode === chosen.mode
    return h("a", { href: addressOf(other, line), ...(isCurrent ? { "aria-current": "page" as const } : {}) }, name)
  }
  return h(
    "p",
    { class: "inline choices" },
    backs.map((lookBack) => way(lookBacks[lookBack].name, { ...chosen, lookBack })),
    line === undefined ? Mode.literals.map((mode) => way(mode === "live" ? "Live" : "Test", { ...chosen, mode })) : null
  )
}

const listPage = (chosen: Choice, lines: ReadonlyArray<RateLine>) =>
  page(
    "Success rates",
    [
      choices(chosen),
      section(
        `${lookBacks[chosen.lookBack].name}, ${chosen.mode}`,
        table(
          "Transactions that ended, those of all nodes; the most first",
          ["Kind", "Corridor", "Provider", "Ended", "Successful", "Rate", "Over time"],
          lines
            .slice(0, SHOWN)
            .map((line) => [
              line.kind,
              h("a", { href: addressOf(chosen, line) }, code(line.corridor)),
              line.provider,
              String(line.ended),
              String(line.successful),
              badge(percent(line), toneOf(line)),
              sparkline(line)
            ]),
          "None ended in this time."
        ),
        lines.length > SHOWN
          ? h("p", { class: "soft" }, `${lines.length - SHOWN} more corridors, with fewer transactions, are not listed.`)
          : null
      ),
      explanation
    ],
    { refreshSeconds: REFRESH_SECONDS }
  )

const linePage = (chosen: Choice, line: RateLine) =>
  page(
    `Success rate of ${line.kind}s`,
    [
      choices(chosen, line),
      section(
        lookBacks[chosen.lookBack].name,
        facts([
          ["Corridor", code(line.corridor)],
          ["Provider", `${line.provider}, ${chosen.mode}`],
          ["Ended", String(line.ended)],
          ["Successful", [`${line.successful}: `, badge(percent(line), toneOf(line))]]
        ]),
        rateChart(line)
      ),
      h("div", { class: "columns" }, [
        section(
          "In figures",
          table(
            "By the time at which they ended, of all nodes",
            ["From", "Ended", "Successful", "Rate"],
            line.steps.map((step) => [minute(step.at), String(step.ended), String(step.successful), percent(step)])
          )
        ),
        section(
          "Not successful",
          table(
            "Why they were not successful",
            ["How it ended", "How many"],
            line.others.map(([how, count]) => [how.replaceAll("_", " "), String(count)]),
            "All were successful."
          )
        )
      ]),
      h("p", null, h("a", { href: addressOf(chosen) }, "All corridors")),
      explanation
    ],
    { refreshSeconds: REFRESH_SECONDS }
  )

const explanation = h(
  "p",
  { class: "soft" },
  "A transaction counts once, where and when it ended, within ten seconds. One that is open counts nowhere yet, and a later correction changes no figure here."
)

/** By the success rate; where a corridor works, most are successful. */
const toneOf = ({ ended, successful }: RateLine): Tone => {
  const share = successful / ended
  return share >= 0.9 ? "good" : share >= 0.5 ? "wait" : "bad"
}
