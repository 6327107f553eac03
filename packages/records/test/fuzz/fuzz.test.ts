import { testTarget } from '../../../../test/fuzz/short.js'
import { target as oldRecords } from './old-records.target.js'

testTarget(oldRecords, 500)
