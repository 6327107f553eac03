import { arrows } from './arrows.mjs'
import { clock } from './clock.mjs'
import { names } from './names.mjs'
import { reason } from './reason.mjs'
import { wording } from './wording.mjs'

export default { meta: { name: 'holdfast' }, rules: { arrows, clock, names, reason, wording } }
