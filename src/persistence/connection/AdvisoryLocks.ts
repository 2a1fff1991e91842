/**
 * Every advisory lock that the gateway takes, so that no two use the same number. All are released at the end of the
 * transaction, except the one for the master key.
 */
export const advisoryLocks = {
  /** One node migrates; the others wait for it. */
  migrations: 7001,
  /**
   * One node claims deliveries at a time, so that each endpoint's limit is counted over all nodes. On Citus there is one lock
   * per shard, with the shard's number.
   */
  deliveryClaims: 7002,
  /** One node creates or retires partitions; the others skip it. */
  partitions: 7003,
  /**
   * Every node shares it for as long as it runs, and a change of the master key takes it exclusively. It is held by a session
   * and released with it.
   */
  masterKey: 7004,
  /** One step of a tenant's webhook recovery at a time; with the tenant's hash. */
  recoveries: 7005,
  /** One endpoint of a tenant is added at a time; with the hash of tenant and mode. */
  endpoints: 7006
} as const
