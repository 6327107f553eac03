import type { z } from 'zod'
import type { memberChangeSchema } from './member-change.js'
import type { policyEntrySchema } from './policy.js'

/** A policy in a layer, with the keys and units of the wire format. */
export type WirePolicyEntry = z.input<typeof policyEntrySchema>

/** A pool member in a layer, with the keys and units of the wire format. */
export type WireMemberChange = z.input<typeof memberChangeSchema>

/** The changed members of one pool by id; null for a removed member. */
interface LayeredPool {
  readonly members?: { readonly [id: string]: WireMemberChange | null }
}

/**
 * The changes made through the API, with the keys and units of the wire format: for each policy the changed fields, or null
 * if it was deleted; for each pool the members that were added, changed or removed.
 */
export interface Layer {
  /** The changed fields of each policy; null for a deleted policy. */
  readonly policies?: { readonly [id: string]: WirePolicyEntry | null }
  /** The changed members of each pool. */
  readonly pools?: { readonly [id: string]: LayeredPool }
}
