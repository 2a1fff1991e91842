import type { Answer, Gate } from "../../../src/providers/simulation/Endings.ts"
import type { WireAnswer } from "../../../src/providers/simulation/SimulatedProvider.ts"

export const json = (status: number, body: object): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})

export const refusal = (status: number, code: string): WireAnswer => json(status, { error: { code } })

/** What stops a call before anything exists; undefined where nothing does. */
export const gateAnswer = (gate: Gate): WireAnswer | undefined => gates[gate]

const gates: Readonly<Record<Gate, WireAnswer | undefined>> = {
  open: undefined,
  refused: refusal(422, "declined"),
  pool_short: refusal(422, "wallet_empty"),
  no_account: refusal(422, "unknown_number"),
  unavailable: refusal(503, "unavailable"),
  unheard: { kind: "silence" },
  reset: { kind: "reset" }
}

/** The answer as the ending lets it through. */
export const deliver = (manner: Answer, answer: WireAnswer): WireAnswer =>
  ({
    plain: answer,
    silence: { kind: "silence" } as const,
    server_error: refusal(500, "internal"),
    not_json: { kind: "answer", status: 200, contentType: "text/html", body: "<html><body>Bad gateway</body></html>" } as const
  })[manner]
