import type { Stage, Variables } from "./Stage.ts"

// One provider, MTN, in one country: of each of these endings it tells sooner or later, so that nothing has to stay open.

/** Every ending that MTN can tell of in the end. */
export const endings = {
  payout: [...Array<string>(14).fill("1000"), "0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0011"],
  collection: [...Array<string>(10).fill("1000"), "0001", "0002", "0003", "0005", "0006", "0008", "0009", "0011"]
}

/** "Not found" proves something there, after five minutes. */
const PROVIDER = "mtn"

const inUganda = (value: string | undefined): string => (value ?? "").replace(/^[A-Z]{2}:/, "UG:")

/** As in production, only sooner. */
export const settingsOfMtn = (accounts: Variables): Variables => ({
  ...Object.fromEntries(
    Object.entries(accounts).flatMap(([name, value]) => (/^MTN_(LIVE|TEST)_/.test(name) ? [[name, inUganda(value)]] : []))
  ),
  MTN_PAYOUT_FEES: "UGX:momo:1000",
  SIMULATOR_DELAY_MS: "50",
  NOT_FOUND_GRACE: "50s",
  COLLECTION_EXPIRY: "40s"
})

/** Payouts and charges go to it alone. */
export const leadToMtn = async (stage: Stage): Promise<void> => {
  for (const direction of ["payout", "collection"])
    await stage.command("corridor", "set", "UG", "UGX", direction, "momo", "--provider", PROVIDER)
}
