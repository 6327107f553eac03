import { testTarget } from '../../../../test/fuzz/short.js'
import { target as bytes } from './redis-bytes.target.js'
import { target as replies } from './redis-replies.target.js'

testTarget(replies, 2000)
testTarget(bytes, 300)
