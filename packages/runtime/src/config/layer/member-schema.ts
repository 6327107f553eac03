import { codec, type Twin } from '../../codec/twin.js'
import { flag, key } from '../schema/leaf.js'
import { memberSchema } from '../schema/sections.js'

/**
 * What was changed of a member. With a url it is a member of its own, whatever the file says of one of that id; without one
 * it says what is other than in the file.
 */
export const memberChangeSchema = memberSchema
  .omit({ id: true })
  .partial()
  .extend({
    enabled: key(flag(), 'False keeps calls from it.'),
    draining: key(flag(), 'True keeps new calls from it, because it is about to be removed or restarted.'),
  })

export type MemberChange = Twin<typeof memberChangeSchema>

export const memberChangeCodec = codec(memberChangeSchema)
