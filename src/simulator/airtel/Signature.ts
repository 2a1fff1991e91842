import { constants, createDecipheriv, createPrivateKey, createPublicKey, privateDecrypt } from "node:crypto"
import { Option } from "effect"
import type { CountryAccount } from "../../providers/airtel/Client.ts"
import type { SimulatedRequest } from "../SimulatedProvider.ts"

/** The key pair of the simulated portal, which works only at the simulator: for PINs, and for the signatures of bodies. */
const portal = createPrivateKey({
  format: "jwk",
  key: {
    kty: "RSA",
    n:
      "57OtXkA7ELHHD9TBE1OS1_6M7XVOeo5vrwctiioZyS5dHWa9FEaRt5VNxcEAOvwVsMqZ9mpu1SLuuLOF7ZoLleTe9uFkNntD69aULuNKUUPqH9wgErWxBPCh30aOtv-k" +
      "gQMrP6nMVx8I3oNKjhicfVtOR8hZ2g3JDPwuXNdhFH8",
    e: "AQAB",
    d:
      "vS9JRGa_k38E4Vk_GM-pW7FdUlnw7UK10DzVIzYC_fBcWTBU_GQugK5o5SoUTRUdhM-4bKo0utSeBLOYjAu2nmx83bt5fnxcR_suz_pQq2jIoA6ptKDOdC-fQtvBK4Zm" +
      "ZQqZ4PEHr32Xj7FT5iVYPEeIGcIIMEr3lRVPP8sUOXk",
    p: "-bB3YrTJP8AiNe6Ly9rVogTBlXIVCVnkbxWj9aSvkLqPhl-xRVoZLcR0KKF0KwxiNuFckPvCCiVAviF9cp_dBQ",
    q: "7Y7UMLapDtGDPMVoQuVFzgOx-M5JZwiBdtuowZfT8wCQpgPXyP1q3QyvPYq60w128d2cXpejxmxufpEKnHmCsw",
    dp: "zTR3WZrkzsz0EMjlAXvvGUG5az4gBdhoAdeSMZ7QXyzEKhZZFXsvuEp9gKr4UyzRRvM95TXTSg1FwTy64cp6lQ",
    dq: "PTy6Wixb_CPqDrpcnBH6Ipc1Q4v5xAOfTAJnyC_ZRST6JLGM6JTa_UyNx_GBI3KvHL4h1wiEAVxmR14gPCHenQ",
    qi: "g32hErVKJu7MaVDEskJWTYvGAawemotnWkVRLAyyhicePLbvlSLv4Lt561m-7mGSD_FenxW1EqEkOYC-J16Dgg"
  }
})
export const portalKey = createPublicKey(portal)
export const portalKeyText = portalKey.export({ format: "der", type: "spki" }).toString("base64")

const paddings = {
  pkcs1: { padding: constants.RSA_PKCS1_PADDING },
  "oaep-sha1": { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" },
  "oaep-sha256": { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" }
} as const satisfies Readonly<Record<CountryAccount["pinPadding"], object>>

/** None for a text that was not encrypted in this way. */
export const decrypted = (text: string, padding: CountryAccount["pinPadding"]): Option.Option<string> =>
  attempt(() => privateDecrypt({ key: portal, ...paddings[padding] }, Buffer.from(text, "base64")).toString("utf8"))

/** Whether the headers sign exactly this body. */
export const isSigned = ({ body, header }: SimulatedRequest): boolean => {
  const secret = Option.getOrElse(decrypted(header("x-key") ?? "", "pkcs1"), () => "")
  const [key = "", iv = ""] = secret.split(":")
  const plain = attempt(() => {
    const decipher = createDecipheriv("aes-256-cbc", Buffer.from(key, "base64"), Buffer.from(iv, "base64"))
    return Buffer.concat([decipher.update(Buffer.from(header("x-signature") ?? "", "base64")), decipher.final()]).toString("utf8")
  })
  return Option.contains(plain, body)
}

const attempt = <A>(make: () => A): Option.Option<A> => Option.liftThrowable(make)()
