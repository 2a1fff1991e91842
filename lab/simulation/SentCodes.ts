import { Redacted } from "effect"
import type { Otp } from "../../src/services/ports/Provider.ts"
import { MINUTE, type Mode } from "./Movement.ts"

export const RIGHT_PIN = "123456"
/** Longer than the gateway lets a charge wait for its code: that the window is kept is not the provider's doing. */
const GOOD_FOR_MS = 30 * MINUTE

interface SentCode {
  readonly provider: string
  readonly mode: Mode
  readonly party: string
  readonly pinId: string
  readonly at: number
}

/** A code that a provider did not take. */
export interface WrongCode {
  readonly reference: string
  readonly pinId: string
  readonly pin: string
}

/** The codes that the providers texted to payers, and those that they were told wrongly. */
export class SentCodes {
  readonly wrong: Array<WrongCode> = []
  /** The references of codes that left the gateway and were not called wrong: nobody there may know more. */
  readonly unrefused: Array<string> = []
  readonly #sent: Array<SentCode> = []

  send(provider: string, mode: Mode, party: string, at: number): string {
    const pinId = `pin-${this.#sent.length}`
    this.#sent.push({ provider, mode, party, pinId, at })
    return pinId
  }

  /** Only the code that this provider sent to this payer, and not long ago. */
  isRight(order: { provider: string; mode: Mode; party: string; reference: string; otp: Otp }, now: number): boolean {
    const pin = Redacted.value(order.otp.pin)
    const isSent = this.#sent.some(
      ({ at, mode, party, pinId, provider }) =>
        provider === order.provider &&
        mode === order.mode &&
        party === order.party &&
        pinId === order.otp.pinId &&
        now < at + GOOD_FOR_MS
    )
    const isRight = isSent && pin === RIGHT_PIN
    if (!isRight) this.wrong.push({ reference: order.reference, pinId: order.otp.pinId, pin })
    return isRight
  }
}
