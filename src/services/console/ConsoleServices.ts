import { Layer } from "effect"
import type { ApprovalAmounts } from "../../domain/ApprovalAmounts.ts"
import { Approvals } from "../approvals/Approvals.ts"
import { FloatApprovals } from "../approvals/FloatApprovals.ts"
import { KeyApprovals } from "../approvals/KeyApprovals.ts"
import { ReviewApprovals } from "../approvals/ReviewApprovals.ts"
import { Review } from "../settlement/Review.ts"
import { FloatAdjustments } from "../tenants/FloatAdjustments.ts"
import { TenantKeys } from "../tenants/TenantKeys.ts"
import { SignIn } from "./SignIn.ts"

/** What the console's pages stand on besides the gateway's own services. */
export const consoleServices = (approvalFrom: ApprovalAmounts) =>
  Approvals.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(ReviewApprovals.layer(approvalFrom), FloatApprovals.layer, KeyApprovals.layer, SignIn.layer)
    ),
    Layer.provide(Layer.mergeAll(Review.layer, FloatAdjustments.layer, TenantKeys.layer))
  )
