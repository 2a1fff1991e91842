import type { AppId, Mode } from "../../domain/Ids.ts"

/** What an endpoint's secrets are sealed for. It names the place as well, so that one copied to another tenant's row does not open there. */
export const webhookSecret = (appId: AppId, mode: Mode): string => `webhook_secret ${appId}/${mode}`
