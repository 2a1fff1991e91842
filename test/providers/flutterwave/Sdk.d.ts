/** Flutterwave's own SDK, as far as the tests call it. Its answers are decoded where they are read. */
declare module "flutterwave-node-v3" {
  type Call = (payload: object) => Promise<unknown>

  class Flutterwave {
    constructor(publicKey: string, secretKey: string, baseUrl: string)
    readonly MobileMoney: Readonly<Record<"uganda" | "ghana" | "rwanda" | "zambia" | "mpesa" | "franco_phone" | "tanzania", Call>>
    readonly Transaction: Readonly<Record<"verify" | "verify_by_tx" | "fetch", Call>>
    readonly Transfer: Readonly<Record<"initiate" | "fetch" | "get_a_transfer" | "wallet_to_wallet" | "fee", Call>>
    readonly Bank: Readonly<Record<"country" | "branches", Call>>
    readonly Misc: Readonly<Record<"bal_currency" | "verify_Account", Call>> & { readonly bal: () => Promise<unknown> }
  }
  export = Flutterwave
}
