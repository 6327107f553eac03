import { testTarget } from '../../../../test/fuzz/short.js'
import { target as requests } from './proxy-requests.target.js'

testTarget(requests, 300)
