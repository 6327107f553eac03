export { asSettled, isLeased, leaseStateOf } from './dead-letter-rules.js'
export { checkJournalFilter } from './filter-checks.js'
export { matchesFilter, sessionFilter } from './filters.js'
export { findKeyProblems, KEY_FORMAT, KeyRing } from './key-ring.js'
export { openStore } from './open/open-store.js'
export { isEncrypted, isSamePayload } from './payload.js'
export type {
  Added,
  AuditFilter,
  BreakerEventFilter,
  BreakerStore,
  DeadLetterFilter,
  DeadLetterSelector,
  DeadLetterStats,
  DeadLetterStore,
  Edited,
  ErrorFilter,
  EventFilter,
  Journal,
  LayerStore,
  LayerVersion,
  MetricsRow,
  MetricsStore,
  Page,
  PageOptions,
  SessionFilter,
  Settlement,
  Store,
  StoredBreaker,
} from './store.js'
export { parseStoreUrl, STORE_URL_FORMAT } from './store-url.js'
