import { answered, delivering, gated, Stop } from "../../../src/simulator/Answers.ts"
import type { WireAnswer } from "../../../src/simulator/SimulatedProvider.ts"

export const json = (status: number, body: object): WireAnswer => answered(status, "application/json", JSON.stringify(body))

const refusal = (status: number, code: string): WireAnswer => json(status, { error: { code } })
export const refuse = (status: number, code: string): Stop => new Stop({ answer: refusal(status, code) })

export const passGate = gated({
  refused: refusal(422, "declined"),
  pool_short: refusal(422, "wallet_empty"),
  no_account: refusal(422, "unknown_number"),
  unavailable: refusal(503, "unavailable")
})

export const deliver = delivering(refusal(500, "internal"))
