import { describe, expect, it } from "vitest"
import { Reference } from "../../src/domain/Ids.ts"
import { webhookHeaders, webhookHmacKey, webhookSecretFrom, webhookSigningText } from "../../src/domain/StandardWebhook.ts"

const message = { id: Reference.make("0".repeat(26)), at: 1_795_000_000_999, body: '{"a":1}' }

describe("a webhook as Standard Webhooks has it", () => {
  it("signs its id, the whole seconds of the attempt and its body, with dots between them", () =>
    expect(webhookSigningText(message)).toBe(`${message.id}.1795000000.{"a":1}`))

  it("names them in its headers, with a signature for each secret", () => {
    const headers = { "webhook-id": message.id, "webhook-timestamp": "1795000000" }
    expect(webhookHeaders(message, ["AA=="])).toStrictEqual({ ...headers, "webhook-signature": "v1,AA==" })
    expect(webhookHeaders(message, ["AA==", "BB=="])).toStrictEqual({ ...headers, "webhook-signature": "v1,AA== v1,BB==" })
  })

  it("has a secret that is shown as whsec_ and its key in base64, which is read back with and without the prefix", () => {
    expect(webhookSecretFrom(new Uint8Array([0, 255, 16]))).toBe("whsec_AP8Q")
    expect(["whsec_AP8Q", "AP8Q", "AP8Qwhsec_"].map(webhookHmacKey)).toStrictEqual(["AP8Q", "AP8Q", "AP8Qwhsec_"])
  })
})
