/** Every advisory lock that the gateway takes. All but the master key's are released at the end of their transaction. */
export const advisoryLocks = {
  /** One node migrates; the others wait for it. */
  migrations: 7001,
  /** One node claims deliveries at a time, so that endpoints' limits count over all nodes. On Citus one lock per shard. */
  deliveryClaims: 7002,
  /** One node creates or retires partitions; the others skip it. */
  partitions: 7003,
  /** Every running node's session shares it, and a change of the master key takes it exclusively. */
  masterKey: 7004,
  /** One step of a tenant's webhook recovery at a time; with the tenant's hash. */
  recoveries: 7005,
  /** One endpoint of a tenant is added at a time; with the hash of tenant and mode. */
  endpoints: 7006
} as const
