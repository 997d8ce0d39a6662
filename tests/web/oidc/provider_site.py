"""An OpenID provider of its own process: django-oauth-toolkit, with three people and one client.

python provider_site.py PORT FOLDER REDIRECT_URI SIGNED_OUT_URI CLIENT_SECRET
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import django
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.urls import include, path

PORT, FOLDER, BACK, OUT, SECRET = sys.argv[1:6]
CLIENT_ID = "fencepost-tests"
PASSWORD = "only for this test"
PEOPLE = {"anna": ["cron-admins"], "ben": ["staff"], "cleo": ["guests"]}
PAGE = '<form method="post">{% csrf_token %}{{ form.as_p }}<button>Log in</button></form>'


def private_key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def configure() -> None:
    """All that a project of Django says in its settings."""
    settings.configure(
        SECRET_KEY="only for this test",
        ALLOWED_HOSTS=["127.0.0.1", "localhost"],
        ROOT_URLCONF="provider_site",
        USE_TZ=True,
        LOGIN_URL="/accounts/login/",
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(FOLDER, "people.db"))}
        },
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", {"registration/login.html": PAGE}),
                        "django.template.loaders.app_directories.Loader",
                    ],
                    "context_processors": ["django.template.context_processors.request"],
                },
            }
        ],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": private_key(),
            "OIDC_ISS_ENDPOINT": f"http://localhost:{PORT}/o",
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
            "OAUTH2_VALIDATOR_CLASS": "provider_site.Groups",
            "PKCE_REQUIRED": True,
            "SCOPES": {"openid": "who you are", "profile": "what you are called", "email": "your address"},
        },
    )


def furnish() -> None:
    """People with groups, and the client."""
    from django.contrib.auth.models import Group, User
    from oauth2_provider.models import Application

    call_command("migrate", verbosity=0)
    for name, groups in PEOPLE.items():
        person = User.objects.create_user(name, password=PASSWORD)
        person.groups.set([Group.objects.get_or_create(name=one)[0] for one in groups])
    Application.objects.create(
        client_id=CLIENT_ID,
        client_secret=SECRET,
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris=BACK,
        post_logout_redirect_uris=OUT,
        skip_authorization=True,
        algorithm=Application.RS256_ALGORITHM,
    )


if not settings.configured:
    configure()
    django.setup()

from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402 - after Django is set up


class Groups(OAuth2Validator):
    """Tells the groups of a person."""

    oidc_claim_scope = None

    def get_additional_claims(self, request: Any) -> dict[str, Any]:
        person = request.user
        return {
            "preferred_username": person.username,
            "groups": [one.name for one in person.groups.all()],
        }


urlpatterns = [
    path("accounts/", include("django.contrib.auth.urls")),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
]

if __name__ == "__main__":
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
    sys.modules["provider_site"] = sys.modules["__main__"]
    furnish()
    uvicorn.run(get_asgi_application(), port=int(PORT), log_level="warning", lifespan="off")
