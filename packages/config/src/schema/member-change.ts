import { type CamelCased, createCodec } from '@holdfast/records'
import { z } from 'zod'
import { booleanValue, optionalKey } from './fields.js'
import { memberSettings } from './pools.js'

/**
 * A change of a pool member. With a url it defines the member completely, whatever the file has under this id; without one
 * it contains the differences from the file.
 */
export const memberChangeSchema = z
  .strictObject(memberSettings)
  .partial()
  .extend({
    enabled: optionalKey(booleanValue(), 'False keeps calls from it.'),
    draining: optionalKey(
      booleanValue(),
      'True keeps new calls from it, because it is about to be removed or restarted.',
    ),
  })

/** A change of a pool member, with camelCase keys. */
export type MemberChange = CamelCased<typeof memberChangeSchema>

export const memberChangeCodec = createCodec(memberChangeSchema)
