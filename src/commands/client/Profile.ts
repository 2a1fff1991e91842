import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { userConfigFolder } from "../../App.ts"
import { Mode } from "../../domain/Ids.ts"
import { CommandRefusal } from "../CommandRefusal.ts"
import { DataFolder } from "../DataFolder.ts"
import { KeyFile } from "../signing/SignedHeaders.ts"

/** A gateway's address and one key for it, as `gateway login` keeps them. */
export const Profile = Schema.Struct({
  ...KeyFile.fields,
  url: Schema.String,
  /** Of the key; null where its file did not say. */
  mode: Schema.NullOr(Mode)
})
export type Profile = typeof Profile.Type

const ProfileFile = Schema.fromJsonString(Profile)
const decode = Schema.decodeUnknownOption(ProfileFile)
const encode = Schema.encodeSync(ProfileFile)

/** Whether a host's name leads to this machine and nowhere else. */
export const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

export const profileFlag = Flag.String("profile").pipe(
  Flag.withSchema(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,40}$/))),
  Flag.withDefault("default"),
  Flag.withDescription("which login to use: 1 to 40 letters, digits, _ and -; `default` if left out")
)

/** Logins in the user's own configuration folder, one file each, readable by that user only. */
export const Profiles = {
  /** Replaces a profile of the same name, and answers its file. */
  save: Effect.fnUntraced(function* (name: string, profile: Profile) {
    const file = yield* fileOf(name)
    yield* Effect.tryPromise({
      try: () => mkdir(join(file, ".."), { recursive: true, mode: 0o700 }),
      catch: (cause) => new CommandRefusal({ message: `cannot make the folder of ${file}: ${String(cause)}` })
    })
    yield* DataFolder.write(file, `${encode(profile)}\n`)
    return file
  }),

  load: Effect.fnUntraced(function* (name: string) {
    const found = Option.flatMap(yield* DataFolder.read(yield* fileOf(name)), decode)
    if (Option.isSome(found)) return found.value
    const flag = name === "default" ? "" : ` --profile ${name}`
    return yield* new CommandRefusal({ message: `there is no login ${name}: make one with gateway login${flag}` })
  })
}

const fileOf = Effect.fnUntraced(function* (name: string) {
  const folder = yield* userConfigFolder
  if (Option.isNone(folder)) return yield* new CommandRefusal({ message: "set HOME or XDG_CONFIG_HOME: logins are kept there" })
  return join(folder.value, "payment-gateway", `${name}.json`)
})
