import { testTarget } from '../../../../test/fuzz/short.js'
import { target as replies } from './postgres-replies.target.js'
import { target as postgres } from './postgres-rows.target.js'
import { target as records } from './stored-records.target.js'

testTarget(records, 150)
testTarget(postgres, 3000)
testTarget(replies, 200)
