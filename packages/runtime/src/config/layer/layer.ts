import type { z } from 'zod'
import type { policyEntrySchema } from '../schema/policy.js'

/** A policy as a layer holds it, in the wire's spelling. */
export type WirePolicyEntry = z.input<typeof policyEntrySchema>

/**
 * What was changed through the API, in the wire's spelling: for each policy the fields that were changed, or null where it
 * was deleted.
 */
export interface Layer {
  readonly policies?: { readonly [id: string]: WirePolicyEntry | null }
}
