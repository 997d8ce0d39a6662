"""Signing in at an OpenID provider: the authorization code flow with PKCE.

    browser            this server                        provider
       | GET /sign-in/oidc  |                                 |
       |------------------->| a secret in a cookie; of it the |
       |                    | state, the nonce, the verifier  |
       |<-------------------| 303 to the provider             |
       |------------------------------------------------------>| who are you?
       |<------------------------------------------------------| 303 back, with a code
       | GET …/callback     |                                 |
       |------------------->| the state fits the cookie?      |
       |                    | code and verifier ------------->|
       |                    |<------------- a signed ID token |
       |                    | signature, issuer, audience,    |
       |                    | times and nonce fit? a role?    |
       |<-------------------| a session, as for a token       |

Nothing is kept on the server between the two requests: all that an attempt needs is made of the secret in its
cookie (`attempt.py`), so any replica can end it, and only the browser that began it. The provider refuses a
code that is shown twice. `tokens.py` decides whether an ID token is to be believed, and does no I/O;
`provider.py` asks the provider; `flow.py` joins them.
"""
