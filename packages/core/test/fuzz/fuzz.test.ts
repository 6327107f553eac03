import { testTarget } from '../../../../test/fuzz/short.js'
import { target as errorBodies } from './error-bodies.target.js'
import { target as memberLists } from './member-lists.target.js'
import { target as retryAfter } from './retry-after.target.js'

testTarget(memberLists, 1000)
testTarget(errorBodies, 500)
testTarget(retryAfter, 1000)
