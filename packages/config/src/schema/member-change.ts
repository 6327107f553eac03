import { type CamelCased, createCodec } from '@holdfast/records'
import { booleanValue, optionalKey } from './fields.js'
import { memberSchema } from './sections.js'

/**
 * What was changed of a member. With a url it is a member of its own, whatever the file says of one of that id; without one
 * it says what is other than in the file.
 */
export const memberChangeSchema = memberSchema
  .omit({ id: true })
  .partial()
  .extend({
    enabled: optionalKey(booleanValue(), 'False keeps calls from it.'),
    draining: optionalKey(
      booleanValue(),
      'True keeps new calls from it, because it is about to be removed or restarted.',
    ),
  })

export type MemberChange = CamelCased<typeof memberChangeSchema>

export const memberChangeCodec = createCodec(memberChangeSchema)
