import type { Schema } from "effect"

/**
 * A record as it was stored, beside what this program reads of it. A member that a newer release writes is none of this program's business, and
 * has to be there still after this program changed the record. Steps make the next record of the one before by spreading it, which carries this
 * along.
 */
const stored = Symbol("gateway/persistence/stored")

const carriesStored = (record: object): record is { readonly [stored]: Schema.JsonObject } => stored in record

/** The record, with what was stored where this program did not read all of it. */
export const carryingUnread = <A>(record: A, json: Schema.Json): A =>
  isObject(json) && typeof record === "object" && hasUnread(json, record) ? { ...record, [stored]: json } : record

/** What a record came from, where there was more in it than this program reads. */
export const storedBehind = (record: object): Schema.JsonObject | undefined =>
  carriesStored(record) ? record[stored] : undefined

/**
 * What is written: this program's members, and those that it does not know as they were. An object of which it knows a part is left as it was where
 * its own part has not changed; where it has, the rest belonged to another object. `read` is what this program would write of what was stored.
 */
export const withUnread = (next: Schema.JsonObject, was: Schema.JsonObject, read: Schema.JsonObject): Schema.JsonObject => {
  const own = Object.entries(next).map(([name, value]) => {
    const isUnchanged = JSON.stringify(value) === JSON.stringify(read[name])
    return [name, isUnchanged ? (was[name] ?? value) : value] as const
  })
  const unread = Object.entries(was).filter(([name]) => !(name in read))
  return Object.fromEntries([...unread, ...own])
}

/** Reading leaves out what it does not know, however deep it lies. */
const hasUnread = (json: Schema.Json, read: unknown): boolean => {
  if (typeof json !== "object" || json === null || typeof read !== "object" || read === null) return false
  return Object.entries(json).some(([name, value]) => !Object.hasOwn(read, name) || hasUnread(value, Reflect.get(read, name)))
}

const isObject = (json: Schema.Json): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)
