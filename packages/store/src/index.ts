export { asSettled, isLeased, leaseStateOf, PROCESSED_ID_RETENTION_MS } from './dead-letter-rules.js'
export type {
  Added,
  DeadLetterFilter,
  DeadLetterSelector,
  DeadLetterStats,
  DeadLetterStore,
  Edited,
  Settlement,
  StoredPayloads,
} from './dead-letter-store.js'
export { checkJournalFilter } from './filter-checks.js'
export { matchesFilter, sessionFilter } from './filters.js'
export type {
  AuditFilter,
  BreakerEventFilter,
  ErrorFilter,
  EventFilter,
  Journal,
  Page,
  PageOptions,
  SessionFilter,
} from './journals.js'
export { findKeyProblems, KEY_FORMAT, KeyRing } from './key-ring.js'
export { openStore } from './open/open-store.js'
export { isEncrypted, isSamePayload } from './payload.js'
export type {
  BreakerStore,
  LayerStore,
  LayerVersion,
  MetricsRow,
  MetricsStore,
  Store,
  StoredBreaker,
} from './store.js'
export { parseStoreUrl, STORE_URL_FORMAT } from './store-url.js'
