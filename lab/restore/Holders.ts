import type { Key } from "../chaos/Client.ts"
import { servingIn } from "../chaos/everything/Accounts.ts"
import { type Command, issueKey } from "../chaos/everything/Tenants.ts"
import type { Operation } from "../chaos/Load.ts"
import { CREDIT } from "../chaos/Tenants.ts"

type OperationKind = Operation["kind"]

/** A tenant that pays, charges or does both at one provider. */
export interface Holder {
  readonly provider: string
  readonly kinds: readonly [OperationKind, ...ReadonlyArray<OperationKind>]
  /** Whether the provider's documents promise that a reference is taken once: the rows of docs/operations/durability.md. */
  readonly isPromised: boolean
  readonly key: Key
}

const wishes: Readonly<Record<string, Omit<Holder, "key">>> = {
  calm: { provider: "mtn", kinds: ["payout"], isPromised: true },
  eversend: { provider: "eversend", kinds: ["payout", "payout", "collection"], isPromised: false },
  "flutterwave-pays": { provider: "flutterwave", kinds: ["payout"], isPromised: true },
  "flutterwave-charges": { provider: "flutterwave", kinds: ["collection"], isPromised: false },
  mtn: { provider: "mtn", kinds: ["payout", "payout", "collection"], isPromised: true },
  pawapay: { provider: "pawapay", kinds: ["payout", "payout", "collection"], isPromised: true },
  paystack: { provider: "paystack", kinds: ["payout", "payout", "collection"], isPromised: true }
}
const ENOUGH = "100000000"

interface Endpoints {
  readonly url: (appId: string) => string
  readonly learn: (appId: string, secret: string) => void
}

/** The first one is not part of the load. */
export const makeHolders = async (command: Command, { learn, url }: Endpoints) => {
  for (const direction of ["payout", "collection"])
    await command("corridor", "set", "GH", "GHS", direction, "momo", "--provider", servingIn("GH").join(","))
  const made: Array<Holder> = []
  for (const [appId, wish] of Object.entries(wishes)) {
    await command("tenant", "create", appId)
    await command("tenant", "pin", appId, wish.provider, "--reason", "drill")
    const money = ["--currency", "GHS", "--amount-minor", String(CREDIT), "--external-id", "drill", "--note", "drill"]
    await command("float", "credit", appId, "--mode", "live", ...money)
    for (const direction of ["payout", "collection"])
      for (const window of ["hour", "day"])
        await command("limit", "set", appId, "--mode", "live", "--direction", direction, "--window", window, "--count", ENOUGH)
    const key = await issueKey(command, appId, "live")
    const { secret } = JSON.parse(await command("webhook", "endpoint", appId, "--mode", "live", "--url", url(appId)))
    learn(appId, secret)
    made.push({ ...wish, key })
  }
  const [calm, ...busy] = made
  if (calm === undefined) throw new Error("no tenant")
  return { calm, busy }
}
