# SPDX-License-Identifier: Apache-2.0
# docker build -t stepsim . && docker run --rm -v "$PWD:/work" -w /work stepsim run --job 8b-16
# Builds the Debian packages and installs them into a bare Debian 12.
FROM debian:12-slim AS build
COPY . /stepsim
RUN cd /stepsim && sh setup.sh package

FROM debian:12-slim
COPY --from=build /stepsim/build-package/ /packages/
RUN apt-get update \
    && apt-get install -y --no-install-recommends /packages/stepsim_*.deb /packages/python3-stepsim_*.deb \
    && rm -rf /var/lib/apt/lists/* /packages \
    && stepsim doctor
ENTRYPOINT ["stepsim"]
