import { Layer } from "effect"
import type { ApprovalAmounts } from "../../domain/ApprovalAmounts.ts"
import { Review } from "../settlement/Review.ts"
import { FloatAdjustments } from "../tenants/FloatAdjustments.ts"
import { TenantKeys } from "../tenants/TenantKeys.ts"
import { Approvals } from "./Approvals.ts"
import { FloatDesk } from "./FloatDesk.ts"
import { KeyDesk } from "./KeyDesk.ts"
import { ReviewDesk } from "./ReviewDesk.ts"
import { SignIn } from "./SignIn.ts"

/** What the console's pages stand on besides the gateway's own services. */
export const consoleServices = (approvalFrom: ApprovalAmounts) =>
  Approvals.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(ReviewDesk.layer(approvalFrom), FloatDesk.layer, KeyDesk.layer, SignIn.layer)),
    Layer.provide(Layer.mergeAll(Review.layer, FloatAdjustments.layer, TenantKeys.layer))
  )
