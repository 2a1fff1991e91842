import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Country } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { described } from "../../domain/Description.ts"
import { group, headerParameter, NEXT_PAGE, operation } from "./Operation.ts"
import { pageOf, pageQuery } from "./Page.ts"
import { PayoutMethod } from "./Payouts.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { Enveloped, Timestamp } from "./Wire.ts"

const orNull = (description: string) => described(Schema.NullOr(Schema.String), `${description}; null where there is none`)

/** A saved recipient, masked (contract BEN-2). */
const BeneficiaryRecord = Schema.Struct({
  id: described(Schema.String, "The gateway's handle of the recipient"),
  type: described(PayoutMethod, "How the recipient is paid"),
  country: Country,
  currency: Currency,
  network: orNull("The mobile network"),
  bank_code: orNull("The code of the bank"),
  branch_code: orNull("The branch that the last payout named"),
  bank_name: orNull("The name of the bank"),
  account_name: orNull("The holder's name, masked (`J••• D••`)"),
  masked_destination: described(Schema.String, "The number or account, masked but for its end (`••••1234`)"),
  is_test_mode: described(Schema.Boolean, "True where a payout of test mode saved it"),
  created_at: described(Timestamp, "When it was first paid"),
  last_used_at: described(Timestamp, "When it was last paid")
}).annotate({ identifier: "Beneficiary", description: "A recipient that a payout saved, masked" })

const Purge = Schema.Struct({ purged: described(Schema.Int, "How many recipients were removed, in both modes") }).annotate({
  identifier: "Purge",
  description: "What a purge removed"
})

export class BeneficiariesApi extends HttpApiGroup.make("beneficiaries")
  .add(
    HttpApiEndpoint.get("list", "/v1/beneficiaries", {
      query: pageQuery,
      success: Enveloped(pageOf(BeneficiaryRecord))
    }).annotateMerge(
      operation("List beneficiaries", `The recipients that your payouts saved, masked, the newest first. ${NEXT_PAGE}`, {
        errors: ["validation_failed"]
      })
    ),
    HttpApiEndpoint.get("find", "/v1/beneficiaries/:id", {
      params: { id: described(Schema.String, "The recipient's id") },
      success: Enveloped(BeneficiaryRecord)
    }).annotateMerge(operation("Get a beneficiary", "Reads one saved recipient, masked.", { errors: ["not_found"] })),
    HttpApiEndpoint.delete("purge", "/v1/beneficiaries", { success: Enveloped(Purge) }).annotateMerge(
      operation("Purge beneficiaries", "Removes every saved recipient of yours, in both modes. It cannot be undone.", {
        errors: ["validation_failed"],
        parameters: [headerParameter("X-Confirm-Purge", "The caller's own `app_id`, exactly")]
      })
    )
  )
  .annotateMerge(group("Beneficiaries", "Recipients that your payouts saved."))
  .middleware(SignedRequest) {}
