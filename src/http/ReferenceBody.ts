import { Redacted, Result } from "effect"
import type { BankAccount } from "../domain/BankAccount.ts"
import { ResolveBody } from "./api/Reference.ts"
import { type Body, type BodyError, makeDecoder, opened } from "./Body.ts"
import type { JsonTree } from "./StrictJson.ts"

const decode = makeDecoder(ResolveBody)

/** The body of `POST /v1/reference/resolve-bank-account`. */
export const resolveBody = (body: JsonTree): Result.Result<Body<BankAccount>, BodyError> =>
  Result.map(decode(body), ({ ignored, wire }) => {
    const command: BankAccount = {
      country: wire.country,
      bankCode: wire.bank_code,
      accountNumber: Redacted.make(wire.account_number)
    }
    return { command, fingerprint: opened(command), ignored }
  })
