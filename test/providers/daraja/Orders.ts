import { generateKeyPairSync } from "node:crypto"
import { Effect, Redacted } from "effect"
import { daraja } from "../../../src/providers/daraja/Adapter.ts"
import type { DarajaSettings } from "../../../src/providers/daraja/Client.ts"
import { MemoryOf, processMemory, type SharedMemory } from "../../../src/providers/SharedMemory.ts"
import { simulatedFees } from "../../../src/simulator/Fees.ts"
import { momo } from "../contract/Orders.ts"

/** The half that only Safaricom has, and the one in its certificate. */
export const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })

export const settings = (baseUrl: string, change: Partial<DarajaSettings> = {}): DarajaSettings => ({
  baseUrl,
  consumerKey: "key",
  consumerSecret: Redacted.make("secret"),
  callbackUrl: Redacted.make("https://pay.example.ke/webhooks/daraja/KEY"),
  shortcode: "605512",
  passkey: Redacted.make("passkey"),
  till: null,
  payoutShortcode: "3004411",
  initiator: "gwapi",
  initiatorPassword: Redacted.make("pa#ss"),
  certificateKey: publicKey,
  pulls: true,
  fees: simulatedFees,
  timeoutMs: 2_000,
  ...change
})

/** One node of a gateway, whose memory the others have, too. */
export const open = (given: DarajaSettings, memory: SharedMemory = processMemory()) =>
  Effect.provideService(daraja(given, "live"), MemoryOf, memory)

/** Amounts of it are no whole shillings: tests give their own. */
export const kenya = momo("KE", "KES", "MPESA", "+25471100")
