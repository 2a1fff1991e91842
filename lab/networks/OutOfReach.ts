import { setTimeout as pause } from "node:timers/promises"
import type { Answer } from "../chaos/Client.ts"
import type { Recorder } from "../chaos/History.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { apart } from "./Faults.ts"
import type { Scene } from "./Scene.ts"

// A gateway whose database nothing reaches any more: no reset and no refusal, only silence.

const LONG_MS = 12_000
const ASKED_EVERY_MS = 500
/** By then readiness says so. */
const NOTICED_WITHIN_MS = 6_000
const GIVEN_UP_AFTER_MS = 15_000

export interface Answered {
  /** What was asked, and what was answered. */
  readonly said: string
  readonly milliseconds: number
  /** Whether it is what somebody who depends on it has to be told. */
  readonly isRight: boolean
}

interface Asking {
  readonly plan: () => Operation
  readonly recorder: Recorder
}

/** Asks the first gateway for payouts, charges and its readiness, again and again. The operations are still to be settled. */
export const withoutDatabase = async ({ gateways: [one], network, servers, stage }: Scene, { plan, recorder }: Asking) => {
  const mend = await apart([one], [...servers, network.host("haproxy")])
  const answers: Array<Promise<Answered>> = []
  const operations: Array<Operation> = []
  const began = performance.now()
  const asked = async (): Promise<Answered> => {
    const operation = plan()
    operations.push(operation)
    const heard: Array<{ readonly milliseconds: number; readonly answer: Answer | undefined }> = []
    await perform(
      operation,
      () => stage.gateways[0],
      () => true,
      (begun, answer) => {
        recorder.answer({ begun, ended: performance.now() }, operation, answer)
        heard.push({ milliseconds: Math.round(performance.now() - begun), answer })
      }
    )
    const { answer, milliseconds = 0 } = heard[0] ?? {}
    const error = answer?.body.error
    const said = `${operation.kind} ${answer?.status ?? "nothing"} ${error?.code ?? ""}`
    return { said: said.trim(), milliseconds, isRight: answer !== undefined && error?.terminal !== true }
  }
  try {
    while (performance.now() - began < LONG_MS) {
      const isToBeNoticed = performance.now() - began > NOTICED_WITHIN_MS
      answers.push(asked(), ready(`${stage.managements[0].url}/readyz`, isToBeNoticed))
      await pause(ASKED_EVERY_MS)
    }
    return { answers: await Promise.all(answers), operations }
  } finally {
    await mend()
  }
}

const ready = async (url: string, isToBeNoticed: boolean): Promise<Answered> => {
  const began = performance.now()
  const status = await fetch(url, { signal: AbortSignal.timeout(GIVEN_UP_AFTER_MS) }).then(
    (answer) => answer.status,
    () => "nothing"
  )
  const milliseconds = Math.round(performance.now() - began)
  return { said: `readyz ${status}`, milliseconds, isRight: status === 503 || (!isToBeNoticed && status === 200) }
}
