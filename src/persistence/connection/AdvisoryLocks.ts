/** Every advisory lock that the gateway takes, so that no two mean the same number. All are held until the transaction's end, but for that of the master key. */
export const advisoryLocks = {
  /** One node migrates, the others wait for it. */
  migrations: 7001,
  /** One node claims deliveries at a time, so that the limit of each endpoint is counted over all nodes; on Citus with the number of a shard, one a shard. */
  deliveryClaims: 7002,
  /** One node makes or retires partitions; the others leave it to that one. */
  partitions: 7003,
  /** Every node shares it for as long as it runs, and a change of the master key takes it alone: held by a session, and gone with it. */
  masterKey: 7004,
  /** One step of a tenant's recovery of webhooks at a time, with the hash of the tenant. */
  recoveries: 7005,
  /** One endpoint of a tenant is added at a time, with the hash of tenant and mode. */
  endpoints: 7006
} as const
