import type { z } from 'zod'
import type { memberChangeSchema } from './member-change.js'
import type { policyEntrySchema } from './policy.js'

/** A policy as a layer holds it, in the wire's spelling. */
export type WirePolicyEntry = z.input<typeof policyEntrySchema>

/** A member of a pool as a layer holds it, in the wire's spelling. */
export type WireMemberChange = z.input<typeof memberChangeSchema>

/** The members of one pool that were changed, by id; null where one was removed. */
interface LayeredPool {
  readonly members?: { readonly [id: string]: WireMemberChange | null }
}

/**
 * What was changed through the API, in the wire's spelling: for each policy the fields that were changed, or null where it
 * was deleted; for each pool the members that were added, changed or removed.
 */
export interface Layer {
  readonly policies?: { readonly [id: string]: WirePolicyEntry | null }
  readonly pools?: { readonly [id: string]: LayeredPool }
}
