declare module "@paystack/paystack-sdk" {
  /** What the tests use of it: by resource and method, each taking its parameters in one object. */
  export default class Paystack {
    constructor(secretKey: string)
    readonly [resource: string]: Readonly<Record<string, (parameters?: object) => Promise<unknown>>>
  }
}
