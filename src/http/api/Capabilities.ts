import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Capability } from "../../domain/Tenant.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Enveloped } from "./Wire.ts"

/** One row of what a tenant may do; `reason` stands only where it is not supported (contract CAP-1, CAP-2). */
export const CapabilityRow = Schema.Struct({
  capability: Capability,
  provider: Schema.String,
  supported: Schema.Boolean,
  reason: Schema.optionalKey(Schema.Literals(["not_permitted", "provider_not_supported", "refund_orchestration_not_implemented"]))
})

export class CapabilitiesApi extends HttpApiGroup.make("capabilities")
  .add(HttpApiEndpoint.get("list", "/v1/capabilities", { success: Enveloped(Schema.Array(CapabilityRow)) }))
  .middleware(SignedRequest) {}
