import { testTarget } from '../../../../test/fuzz/short.js'
import { target as nginx } from './proxy-before-nginx.target.js'
import { target as squid } from './proxy-behind-squid.target.js'
import { target as requests } from './proxy-requests.target.js'
import { target as replies } from './upstream-replies.target.js'
import { target as responses } from './upstream-responses.target.js'

testTarget(requests, 300)
testTarget(replies, 300)
testTarget(responses, 200)
// Skipped where neither an installed program nor Debian's packages are available.
testTarget(nginx, 60)
testTarget(squid, 60)
