import { arrows } from './arrows.mjs'
import { clock } from './clock.mjs'
import { reason } from './reason.mjs'

export default { meta: { name: 'holdfast' }, rules: { arrows, clock, reason } }
