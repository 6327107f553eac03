import { expect, it } from 'vitest'
import { OWN_ERRORS } from '../../src/classify/index.js'
import type { HoldfastErrorCode } from '../../src/errors.js'
import { rejectionReason } from '../../src/retry/stop-reason.js'

const codes = Object.keys(OWN_ERRORS) as HoldfastErrorCode[]
const rejects = (code: HoldfastErrorCode): unknown => OWN_ERRORS[code][2]

it('every code with which a guard rejects a call has a stop reason, and no other code has one', () => {
  const rejecting = codes.filter((code) => rejects(code) === 'operation' || rejects(code) === 'call')
  expect(codes.filter((code) => rejectionReason(code) !== undefined)).toEqual(rejecting)
})

it('rejections with different codes have different stop reasons', () => {
  const reasons = codes.map(rejectionReason).filter((reason) => reason !== undefined)
  expect(new Set(reasons).size).toBe(reasons.length)
})
