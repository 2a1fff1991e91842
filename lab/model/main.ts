import { parseArgs } from "node:util"
import { runRecorder } from "../runs/Runs.ts"
import { checkModel, rules } from "./Model.ts"

// npm run model [-- --record]: visits every state of the protocol of one payout, and then takes out one rule after the other, each of which has
// to be missed. Two minutes on two cores that nothing else uses, and 2.5 GB of memory; needs `spin` and `gcc`. Exits 1 where the model is broken,
// or where a rule is not missed.

const { values } = parseArgs({ options: { record: { type: "boolean", default: false } } })
const record = runRecorder("model", values.record)

const whole = await checkModel({})
console.log(`two requests: ${whole.states.toLocaleString("en-US")} states, ${whole.broken ?? "nothing is broken"}`)
const ends = await checkModel({ requests: 1, ends: true })
console.log(`one request, whether it ends: ${ends.states.toLocaleString("en-US")} states, ${ends.broken ?? "it does"}`)

const missed: Array<string> = []
for (const { breaks, macro, rule } of rules) {
  const { broken, states } = await checkModel(
    breaks === "ends" ? { without: macro, requests: 1, ends: true } : { without: macro }
  )
  console.log(`without "${rule}": ${broken ?? "nothing is broken"}, after ${states.toLocaleString("en-US")} states`)
  if (broken === breaks) missed.push(macro)
}

const isRight = [whole, ends].every(({ isComplete }) => isComplete)
record(isRight && missed.length === rules.length, {
  states: whole.states,
  states_for_its_end: ends.states,
  rules: rules.length,
  rules_that_are_missed: missed.length
})
if (!isRight || missed.length < rules.length) process.exitCode = 1
