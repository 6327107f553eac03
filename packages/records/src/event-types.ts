/** When events of a type are emitted, the optional fields that they can have, and the fields of their context. */
interface EventTypeInfo {
  readonly when: string
  readonly fields?: readonly string[]
  readonly context?: Readonly<Record<string, string>>
}

const SHADOW = 'True for a policy in shadow mode: the change did not happen, but would have happened.'

const BREAKER_CONTEXT = {
  id: 'The id of the breaker: `policy:ID`, `service:NAME` or `pool:POOL:MEMBER`.',
  fromState: 'The previous state.',
  toState: 'The new state.',
  failureCount: 'The number of failures in the window, or of those that opened the breaker.',
  shadow: SHADOW,
}

const DEAD_LETTER_CONTEXT = { dlq_id: 'The id of the dead letter.', item_id: 'The id of its item.' }

/** Every type of event. */
export const EVENT_TYPE_INFO = {
  retry_attempt: {
    when: 'A retry of a call was scheduled. `attempt` is the number of the coming attempt, `delay` the time before it in seconds.',
    fields: ['session_id', 'policy_id', 'operation', 'attempt', 'max_attempts', 'delay', 'error'],
    context: { shadow: SHADOW, code: 'In shadow mode, the code of the error that would have been thrown.' },
  },
  retry_success: {
    when: 'A call that failed at least once succeeded. `attempt` is the number of attempts.',
    fields: ['session_id', 'policy_id', 'operation', 'attempt'],
  },
  retry_failure: {
    when: 'A call ended without success.',
    fields: ['session_id', 'policy_id', 'operation', 'error'],
    context: {
      stopped: 'The stop reason.',
      served: '`fallback` if the fallback returned a value.',
      shadow: SHADOW,
      code: 'In shadow mode, the code of the error that would have been thrown.',
    },
  },
  calls_shed: {
    when: 'Several calls of an operation were rejected within one second by an open breaker or a full bulkhead. Only the first of them has a session and other events.',
    fields: ['operation'],
    context: { reason: 'The stop reason.', count: 'How many calls were rejected, including the first.' },
  },
  circuit_breaker_opened: {
    when: 'A circuit breaker opened.',
    fields: ['policy_id'],
    context: BREAKER_CONTEXT,
  },
  circuit_breaker_closed: {
    when: 'A circuit breaker closed.',
    fields: ['policy_id'],
    context: BREAKER_CONTEXT,
  },
  circuit_breaker_half_opened: {
    when: 'A circuit breaker became half open: the next calls are probes.',
    fields: ['policy_id'],
    context: BREAKER_CONTEXT,
  },
  dead_letter_enqueued: {
    when: 'A failed call was stored as a dead letter.',
    fields: ['session_id', 'policy_id', 'operation'],
    context: DEAD_LETTER_CONTEXT,
  },
  dead_letter_replayed: {
    when: 'The replay of a dead letter succeeded.',
    fields: ['policy_id', 'operation'],
    context: DEAD_LETTER_CONTEXT,
  },
  dead_letter_failed: {
    when: 'The replay of a dead letter failed, or a failed call could not be stored.',
    fields: ['session_id', 'policy_id', 'operation', 'error'],
    context: { ...DEAD_LETTER_CONTEXT, code: 'The error code, if a call could not be stored.' },
  },
  config_reloaded: {
    when: 'A new configuration was applied: from the file, or through the API.',
    context: {
      file: 'The config file.',
      by: 'Who made the change; `file` if the file was changed.',
      changes: 'The number of changed policy fields.',
      hidden: 'Notes about values of the file that changes made through the API hide.',
      waiting: 'Keys whose change needs a restart.',
      layer: '`api` for a change made through the API.',
      version: 'The version of a change that another process made.',
      fleet: 'True if another node made the change.',
      node: 'The node that made the change.',
    },
  },
  config_rejected: {
    when: 'A new configuration was rejected. The previous one stays active.',
    context: {
      file: 'The config file or member file.',
      pool: 'The pool of a member file.',
      by: 'Who made the change.',
      reason: 'Why it was rejected.',
      details: 'One sentence for each problem.',
      layer: '`api` for a change made through the API.',
      policies: 'The policies whose changes through the API conflict with the file.',
      fallback: 'True if the built-in policies replace the file.',
    },
  },
  pool_member_changed: {
    when: 'A member of a pool was added, removed, drained or enabled, or its cooldown started; or the pool concluded that the local network is down or up again.',
    context: {
      pool: 'The id of the pool.',
      memberId: 'The id of the member.',
      change: '`added`, `removed`, `drained`, `enabled` or `rested`.',
      retryAfter: 'The duration of a cooldown in milliseconds.',
      down: 'Whether the local network is down.',
    },
  },
  alert: {
    when: 'A call failed with a critical error, which requires action by a person; or nodes of a fleet have different settings of a breaker.',
    fields: ['session_id', 'policy_id', 'operation', 'error'],
    context: {
      category: '`critical`.',
      kind: 'The kind of failure.',
      item_id: 'The item of the call.',
      http_status: 'The HTTP status of the response.',
      id: 'The id of the breaker whose settings differ.',
      reason: '`settings differ`.',
      fields: 'The settings that differ.',
      nodes: 'The nodes whose settings differ.',
    },
  },
  storage_warning: {
    when: 'Records could not be written yet, the disk is nearly full, or the number of dead letters is near its limit.',
    context: {
      reason: '`disk_nearly_full` or `dead_letters`; absent if records could not be written.',
      store: 'The kind of the store.',
      records: 'The kind of records that wait in memory.',
      error: 'The error of the store.',
      free_bytes: 'The free space on the disk.',
      warn_below_bytes: 'The limit below which the disk counts as nearly full.',
      entries: 'The number of dead letters that are not completed.',
      max_entries: 'The limit `dead_letters.max_entries`.',
    },
  },
  events_dropped: {
    when: 'Records were dropped because the store or a listener was too slow.',
    context: {
      records: 'The kind of records.',
      dropped: 'How many were dropped.',
      listener: 'The type of events of a listener that was too slow.',
    },
  },
  shared_state_lost: {
    when: 'The connection to the shared state of the fleet was lost. Each node decides alone.',
    context: { node: 'The id of this node.', reason: 'The cause.' },
  },
  shared_state_restored: {
    when: 'The connection to the shared state of the fleet is back.',
    context: { node: 'The id of this node.' },
  },
  node_joined: {
    when: 'A node joined the fleet.',
    context: { node: 'The id of the node.' },
  },
  node_left: {
    when: 'A node left the fleet, or its heartbeats ended.',
    context: { node: 'The id of the node.' },
  },
} as const satisfies Record<string, EventTypeInfo>

/** The type of an event. */
export type EventType = keyof typeof EVENT_TYPE_INFO

/** Every type of event. */
export const EVENT_TYPES = Object.keys(EVENT_TYPE_INFO) as [EventType, ...EventType[]]
